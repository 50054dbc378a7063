"""Word lists, and makers of words that are on no list."""

from __future__ import annotations

from random import Random
from typing import Callable
from zlib import crc32

NAMES = """Ada Adam Aisha Alan Alex Alice Amina Amir Ana Andrea Anna Anton Ben Bob Carla Carlos Carol Chen Chloe Clara
Dan Dana David Diego Elena Eli Ella Emil Emma Erik Eva Fatima Felix Finn Frank Fred Grace Greta Hana Hannah Hans Hugo
Ian Ida Igor Ines Iris Ivan Jack James Jan Jane Jin John Jonas Jose Julia Kai Karim Kate Kim Klaus Lara Laura Lea Lena
Leo Li Lina Linus Lisa Luca Lucy Luis Maja Marco Maria Mark Marta Mary Max Mia Mike Mila Mina Miro Mohamed Nadia Nina
Noah Nora Olga Oliver Omar Oscar Otto Paul Pedro Peter Petra Priya Rafael Ravi Rita Rosa Ruth Sam Sara Sasha Simon
Sofia Sven Tara Theo Tim Tina Tom Uma Vera Victor Wei Yara Yuki Zoe""".split()

CITIES = (
    """Amsterdam Athens Bamako Bangkok Barcelona Beijing Berlin Bern Boston Brussels Cairo Chicago Copenhagen Dakar
Delhi Dublin Geneva Hamburg Hanoi Helsinki Istanbul Jakarta Kyoto Lagos Lima Lisbon London Lyon Madrid Milan Montreal
Moscow Mumbai Munich Nairobi Oslo Paris Porto Prague Quito Rome Seoul Stockholm Sydney Tokyo Toronto Vienna Warsaw
Zurich""".split()
    + ["New York", "San Francisco", "Los Angeles", "Hong Kong", "Cape Town"]
)

COLOURS = "red blue green yellow orange purple pink black white brown grey silver gold violet turquoise".split()
ANIMALS = """cat dog horse cow sheep goat pig duck goose hen fox wolf bear lion tiger mouse rabbit deer owl eagle whale
dolphin shark frog snake spider bee ant parrot hamster turtle otter""".split()
FRUIT = "apple pear plum cherry grape lemon orange peach banana melon fig mango kiwi berry".split()
FOOD = """bread soup pizza pasta rice salad cake cheese pancakes sushi curry noodles tea coffee lasagna risotto tacos
dumplings stew pie""".split()
THINGS = """table chair lamp window door bottle cup spoon book pencil paper bag box key clock mirror bicycle car train
boat plane bridge house tower garden river mountain forest island desert""".split()
WORDS = """quick brown lazy silent happy small large bright cold warm soft hard early late new old stone cloud rain snow
wind fire water light shadow music paper silver thread loom shuttle weave pattern river apple lemon window garden
morning evening summer winter hello world test one two three four five six seven eight nine ten yes no maybe never
always again the a of and with under over""".split()

CAPITALS = {
    "France": "Paris",
    "Germany": "Berlin",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Portugal": "Lisbon",
    "Austria": "Vienna",
    "Switzerland": "Bern",
    "Belgium": "Brussels",
    "Poland": "Warsaw",
    "Greece": "Athens",
    "Ireland": "Dublin",
    "England": "London",
    "Norway": "Oslo",
    "Sweden": "Stockholm",
    "Denmark": "Copenhagen",
    "Finland": "Helsinki",
    "Russia": "Moscow",
    "Japan": "Tokyo",
    "China": "Beijing",
    "Egypt": "Cairo",
    "Kenya": "Nairobi",
    "Mali": "Bamako",
    "Senegal": "Dakar",
    "Peru": "Lima",
    "Canada": "Ottawa",
    "Cuba": "Havana",
    "Hungary": "Budapest",
    "Thailand": "Bangkok",
    "Vietnam": "Hanoi",
    "Chile": "Santiago",
    "the United Kingdom": "London",
    "the United States": "Washington, D.C.",
    "the Netherlands": "Amsterdam",
    "Brazil": "Brasília",
    "India": "New Delhi",
    "Australia": "Canberra",
    "Mexico": "Mexico City",
    "Turkey": "Ankara",
    "Ukraine": "Kyiv",
    "South Korea": "Seoul",
}

# Their capitals it does not know, and says so.
OTHER_COUNTRIES = """Afghanistan|Albania|Algeria|Andorra|Angola|Antigua and Barbuda|Argentina|Armenia|Azerbaijan|the Bahamas|
Bahamas|Bahrain|Bangladesh|Barbados|Belarus|Belize|Benin|Bhutan|Bolivia|Bosnia|Bosnia and Herzegovina|Botswana|Brunei|
Bulgaria|Burkina Faso|Burma|Burundi|Cabo Verde|Cambodia|Cameroon|Cape Verde|the Central African Republic|
Central African Republic|Chad|Colombia|the Comoros|Comoros|the Congo|Congo|the Democratic Republic of the Congo|
the Republic of the Congo|Costa Rica|Côte d'Ivoire|Croatia|Cyprus|the Czech Republic|Czechia|Djibouti|Dominica|
the Dominican Republic|Dominican Republic|East Timor|Ecuador|El Salvador|Equatorial Guinea|Eritrea|Estonia|Eswatini|
Ethiopia|Fiji|Gabon|the Gambia|Gambia|Georgia|Ghana|Greenland|Grenada|Guatemala|Guinea|Guinea-Bissau|Guyana|Haiti|Honduras|
Iceland|Indonesia|Iran|Iraq|Israel|the Ivory Coast|Ivory Coast|Jamaica|Jordan|Kazakhstan|Kiribati|Kosovo|Kuwait|Kyrgyzstan|
Laos|Latvia|Lebanon|Lesotho|Liberia|Libya|Liechtenstein|Lithuania|Luxembourg|Madagascar|Malawi|Malaysia|the Maldives|
Maldives|Malta|the Marshall Islands|Marshall Islands|Mauritania|Mauritius|Micronesia|Moldova|Monaco|Mongolia|Montenegro|
Morocco|Mozambique|Myanmar|Namibia|Nauru|Nepal|New Zealand|Nicaragua|Niger|Nigeria|North Korea|North Macedonia|Macedonia|
Oman|Pakistan|Palau|Palestine|Panama|Papua New Guinea|Paraguay|the Philippines|Philippines|Qatar|Romania|Rwanda|
Saint Kitts and Nevis|Saint Lucia|Saint Vincent and the Grenadines|Samoa|San Marino|São Tomé and Príncipe|
Sao Tome and Principe|Saudi Arabia|Scotland|Serbia|Seychelles|Sierra Leone|Singapore|Slovakia|Slovenia|the Solomon Islands|
Solomon Islands|Somalia|South Africa|South Sudan|Sri Lanka|Sudan|Suriname|Swaziland|Syria|Taiwan|Tajikistan|Tanzania|
Tibet|Timor-Leste|Togo|Tonga|Trinidad and Tobago|Tunisia|Turkmenistan|Tuvalu|Uganda|the United Arab Emirates|
United Arab Emirates|Uruguay|Uzbekistan|Vanuatu|the Vatican|Vatican City|Venezuela|Wales|Yemen|Zambia|Zimbabwe|Europe|
Africa|Asia|California|Texas|Bavaria|Atlantis|the moon|the world|Hawaii|Siberia|Lapland""".replace("\n", "").split("|")

NUMBER_WORDS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty""".split()

_ONSETS = """b bl br c ch cl cr d dr f fl fr g gl gr h j k kl kr l m n p ph pl pr qu r s sc sh sk sl sm sn sp st str sw
t th tr tw v w x y z""".split()
_SINGLE = "bcdfghjklmnprstvwxyz"
_VOWELS = "a e i o u a e i o u ai au ea ee ei ia ie io oa oo ou ue y".split()
_CODAS = ["", "", "", "", *"b ck d g k l ll m n n nd ng nn nt p r r rd rk rn rt s s sh ss st t t th x z".split()]


def held_out(text: str) -> bool:
    """A tenth of all texts is kept for measuring, and never shown in training."""
    return crc32(text.encode()) % 10 == 0


class Words:
    """Random words, names and numbers: those of training, or those that are kept for measuring."""

    def __init__(self, rng: Random, held: bool) -> None:
        self.rng = rng
        self.held = held

    def _made(self, make: Callable[[], str]) -> str:
        while held_out(text := make()) != self.held:
            pass
        return text

    def _syllables(self) -> str:
        rng = self.rng
        if rng.random() < 0.12:
            return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(3, 8)))
        count = rng.choices((1, 2, 3, 4), (3, 7, 3, 1))[0]
        if rng.random() < 0.6:
            return "".join(rng.choice(_SINGLE) + rng.choice("aaeeiioou") for _ in range(count)) + rng.choice(_CODAS)
        return "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(count))

    def strange_word(self) -> str:
        return self._made(self._syllables)

    def strange_name(self) -> str:
        return self._made(lambda: self._syllables().capitalize())

    def name(self) -> str:
        if not self.held and self.rng.random() < 0.35:
            return self.rng.choice(NAMES)
        return self.strange_name()

    def full_name(self) -> str:
        return self.name() if self.rng.random() < 0.8 else f"{self.name()} {self.strange_name()}"

    def city(self) -> str:
        if not self.held and self.rng.random() < 0.4:
            return self.rng.choice(CITIES)
        return self.strange_name()

    def number(self, digits: int | None = None) -> str:
        length = digits or self.rng.choices((1, 2, 3, 4, 5, 6, 8), (2, 5, 4, 5, 3, 2, 1))[0]
        low = 10 ** (length - 1)

        def make() -> str:
            return str(self.rng.randint(low if length > 1 else 2, 10 * low - 1))

        return self._made(make) if length > 2 else make()

    def code(self) -> str:
        rng = self.rng

        def letters(count: int) -> str:
            return "".join(rng.choice("ABCDEFGHJKLMNPQRSTUVWXYZ") for _ in range(count))

        def digits(count: int) -> str:
            return "".join(rng.choice("0123456789") for _ in range(count))

        return self._made(
            lambda: rng.choice(
                (
                    lambda: f"{letters(1)}{digits(rng.randint(2, 4))}",
                    lambda: f"{letters(rng.randint(2, 3))}-{digits(rng.randint(2, 5))}",
                    lambda: f"{letters(2)}{digits(1)}{letters(1)}{digits(1)}",
                    lambda: letters(rng.randint(3, 6)),
                    lambda: f"{digits(2)}-{digits(3)}",
                    lambda: f"{self._syllables()}-{digits(2)}",
                    lambda: f"{self._syllables()}_{digits(rng.randint(1, 3))}",
                    lambda: f"{self._syllables()}{digits(2)}",
                )
            )()
        )

    def word(self) -> str:
        return self.rng.choice(WORDS) if self.rng.random() < 0.6 else self.strange_word()

    def value(self) -> str:
        """Something that one may be asked to keep or to say again."""
        return self.rng.choice((self.name, self.number, self.code, self.word))()

    def glyphs(self) -> str:
        rng = self.rng
        pools = (
            "äöüßéèêñçåøæ",
            "日本語中文字水火山川",
            "αβγδεζηθλμπσω",
            "абвгдежзиклмнопрст",
            "😀🎉👍🚀❤🌍🐱🍎✨🔥",
            "→✓±°€£«»…",
        )
        pool = rng.choice(pools)
        return "".join(rng.choice(pool) for _ in range(rng.randint(1, 4)))

    def phrase(self) -> str:
        """A few words to say again, sometimes with what one does not expect among them."""
        rng = self.rng
        parts = [self.word() for _ in range(rng.randint(1, 6))]
        if rng.random() < 0.3:
            parts.insert(rng.randint(0, len(parts)), self.value())
        if rng.random() < 0.12:
            parts.append(self.glyphs())
        if rng.random() < 0.3:
            parts[0] = parts[0].capitalize()
        return " ".join(parts) + rng.choice(("", "", "", ".", "!", "?"))
