"""Writes what pydantic 2 publishes for every type that it has, and what `openai` makes of that for strict answers.

    python3 pydantic-schemas.py > pydantic-schemas.json

Needs pydantic, email-validator, pydantic-extra-types and openai. With a file of answers, one JSON line each with the name
of a type, it says which of them pydantic refuses:

    python3 pydantic-schemas.py answers.jsonl
"""

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import ipaddress
import json
import pathlib
import re
import sys
import typing
import uuid
import zoneinfo
from typing import Annotated, Any, Generic, Literal, NamedTuple, Optional, TypeVar, Union

import annotated_types
import pydantic
from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints
from typing_extensions import NotRequired, TypedDict


class Colour(enum.Enum):
    red = "RED"
    green = "GREEN"


class Single(enum.Enum):
    only = "only"


class Level(enum.IntEnum):
    low = 1
    high = 2


class Mixed(enum.Enum):
    text = "a"
    number = 1


class Base(BaseModel):
    a: str
    b: int = 3


class Documented(BaseModel):
    """What it is."""

    a: str = Field(description="The first", examples=["x"], title="A")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: str


class OpenOfInts(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    a: str


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: str


class Aliased(BaseModel):
    a: str = Field(alias="theA")
    b: int = Field(serialization_alias="outB", default=1)


class Tree(BaseModel):
    value: str
    children: list["Tree"] = []


class Linked(BaseModel):
    value: int
    next: Optional["Linked"] = None


class Circle(BaseModel):
    kind: Literal["circle"]
    radius: float


class Square(BaseModel):
    kind: Literal["square"] = "square"
    side: float


class Inherited(Base):
    c: bool


T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    content: T


class Names(RootModel[list[str]]):
    pass


class Plain(TypedDict):
    a: str
    b: NotRequired[int]


class Partial(TypedDict, total=False):
    a: str


class Point(NamedTuple):
    x: int
    y: int = 0


@dataclasses.dataclass
class Data:
    a: str
    b: list[int] = dataclasses.field(default_factory=list)


class Computed(BaseModel):
    a: int

    @pydantic.computed_field
    @property
    def double(self) -> int:
        return 2 * self.a


def named(*types: str) -> dict[str, Any]:
    """Those that this version of pydantic has."""
    return {name: getattr(pydantic, name) for name in types if hasattr(pydantic, name)}


types: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "bytes": bytes,
    "None": None,
    "Any": Any,
    "object": object,
    "complex": complex,
    "Decimal": decimal.Decimal,
    "Decimal of digits": Annotated[decimal.Decimal, Field(max_digits=5, decimal_places=2)],
    "Decimal in bounds": Annotated[decimal.Decimal, Field(ge=0, le=100)],
    "condecimal": pydantic.condecimal(gt=0, max_digits=8, decimal_places=3),
    "Fraction": fractions.Fraction,
    "date": datetime.date,
    "datetime": datetime.datetime,
    "time": datetime.time,
    "timedelta": datetime.timedelta,
    "timezone": zoneinfo.ZoneInfo,
    "UUID": uuid.UUID,
    "Path": pathlib.Path,
    "PurePath": pathlib.PurePath,
    "Pattern": re.Pattern,
    "Pattern of str": typing.Pattern[str],
    "IPv4Address": ipaddress.IPv4Address,
    "IPv6Address": ipaddress.IPv6Address,
    "IPv4Network": ipaddress.IPv4Network,
    "IPv6Network": ipaddress.IPv6Network,
    "IPv4Interface": ipaddress.IPv4Interface,
    "IPv6Interface": ipaddress.IPv6Interface,
    "Enum": Colour,
    "Enum of one": Single,
    "IntEnum": Level,
    "Enum of both": Mixed,
    "Literal": Literal["a", "b"],
    "Literal of one": Literal["a"],
    "Literal of kinds": Literal["a", 1, True, None],
    "Optional": Optional[int],
    "Optional default": Annotated[Optional[int], Field(default=None)],
    "Union": Union[int, str],
    "Union of models": Union[Base, Closed],
    "Union left to right": Annotated[Union[int, str], Field(union_mode="left_to_right")],
    "discriminator": Annotated[Union[Circle, Square], Field(discriminator="kind")],
    "list": list,
    "list of int": list[int],
    "list of models": list[Base],
    "set": set[int],
    "set of enum": set[Colour],
    "frozenset": frozenset[str],
    "tuple": tuple[int, str],
    "tuple of any length": tuple[int, ...],
    "tuple of none": tuple[()],
    "tuple bare": tuple,
    "deque": collections.deque[int],
    "Sequence": typing.Sequence[int],
    "Iterable": typing.Iterable[int],
    "Counter": collections.Counter[str],
    "dict": dict,
    "dict of int": dict[str, int],
    "dict by int": dict[int, str],
    "dict by enum": dict[Colour, int],
    "dict by Literal": dict[Literal["a", "b"], int],
    "dict by UUID": dict[uuid.UUID, int],
    "dict by pattern": dict[Annotated[str, StringConstraints(pattern=r"^x-")], int],
    "dict of lengths": Annotated[dict[str, int], Field(min_length=1, max_length=3)],
    "OrderedDict": collections.OrderedDict[str, int],
    "defaultdict": collections.defaultdict[str, list[int]],
    "Mapping": typing.Mapping[str, int],
    "BaseModel": Base,
    "model documented": Documented,
    "model extra allow": Open,
    "model extra of int": OpenOfInts,
    "model extra forbid": Closed,
    "model with alias": Aliased,
    "model recursive": Tree,
    "model linked": Linked,
    "model inherited": Inherited,
    "model generic": Box[int],
    "model generic of models": Box[Base],
    "model computed": Computed,
    "RootModel": Names,
    "TypedDict": Plain,
    "TypedDict total=False": Partial,
    "NamedTuple": Point,
    "dataclass": Data,
    "type": type,
    "Hashable": typing.Hashable,
    "Callable": typing.Callable[[int], int],
    "InstanceOf": pydantic.InstanceOf[Base],
    "SkipValidation": pydantic.SkipValidation[int],
    "Json": pydantic.Json,
    "Json of list": pydantic.Json[list[int]],
    "Secret": pydantic.Secret[int],
    "ge le": Annotated[int, Field(ge=1, le=10)],
    "gt lt": Annotated[float, Field(gt=0, lt=1)],
    "multiple_of": Annotated[int, Field(multiple_of=5)],
    "multiple_of 0.01": Annotated[float, Field(multiple_of=0.01)],
    "min_length": Annotated[str, Field(min_length=2, max_length=5)],
    "pattern": Annotated[str, Field(pattern=r"^[A-Z]{2}-\d+$")],
    "constr": pydantic.constr(strip_whitespace=True, to_lower=True, min_length=1),
    "constr pattern": pydantic.constr(pattern=r"^\w+@\w+$", max_length=20),
    "conint": pydantic.conint(gt=0, multiple_of=3),
    "confloat": pydantic.confloat(ge=0.5, le=1.5),
    "conlist": pydantic.conlist(int, min_length=1, max_length=4),
    "conset": pydantic.conset(int, min_length=2, max_length=4),
    "conset of enum": pydantic.conset(Colour, min_length=1),
    "confrozenset": pydantic.confrozenset(str, min_length=1),
    "conbytes": pydantic.conbytes(min_length=1, max_length=4),
    "condate": pydantic.condate(ge=datetime.date(2020, 1, 1)),
    "annotated_types.Len": Annotated[list[int], annotated_types.Len(1, 2)],
    "WithJsonSchema": Annotated[str, pydantic.WithJsonSchema({"type": "string", "format": "special"})],
    "json_schema_extra": Annotated[int, Field(json_schema_extra={"x-unit": "cm", "unit": "cm"})],
    "deprecated": Annotated[int, Field(deprecated=True)],
    **named(
        *("StrictBool", "StrictInt", "StrictFloat", "StrictStr", "StrictBytes"),
        *("PositiveInt", "NonNegativeInt", "NegativeInt", "NonPositiveInt"),
        *("PositiveFloat", "NonNegativeFloat", "NegativeFloat", "NonPositiveFloat", "FiniteFloat"),
        *("UUID1", "UUID3", "UUID4", "UUID5", "UUID6", "UUID7", "UUID8"),
        *("PastDate", "FutureDate", "AwareDatetime", "NaiveDatetime", "PastDatetime", "FutureDatetime"),
        *("AnyUrl", "AnyHttpUrl", "HttpUrl", "AnyWebsocketUrl", "WebsocketUrl", "FileUrl", "FtpUrl"),
        *("PostgresDsn", "CockroachDsn", "AmqpDsn", "RedisDsn", "MongoDsn", "KafkaDsn", "NatsDsn"),
        *("MySQLDsn", "MariaDBDsn", "ClickHouseDsn", "SnowflakeDsn"),
        *("EmailStr", "NameEmail", "IPvAnyAddress", "IPvAnyInterface", "IPvAnyNetwork"),
        *("FilePath", "DirectoryPath", "NewPath", "SocketPath", "ByteSize"),
        *("SecretStr", "SecretBytes", "ImportString"),
        *("Base64Bytes", "Base64Str", "Base64UrlBytes", "Base64UrlStr", "JsonValue"),
    ),
}


def answer_of(name: str) -> type[BaseModel]:
    return pydantic.create_model("Answer", value=(types[name], ...))


def published(name: str) -> Optional[dict[str, Any]]:
    try:
        answer = answer_of(name)
        plain = answer.model_json_schema()
    except (pydantic.errors.PydanticUserError, TypeError):
        return None
    from openai.lib._pydantic import to_strict_json_schema

    try:
        strict = to_strict_json_schema(answer)
    except (TypeError, ValueError):
        strict = None
    return {"plain": plain, "strict": strict}


def refused(file: str) -> None:
    for line in open(file, encoding="utf-8"):
        name, text = json.loads(line)
        try:
            answer = answer_of(name)
        except ImportError:  # email-validator is not everywhere
            continue
        try:
            answer.model_validate_json(text)
        except pydantic.ValidationError as error:
            print(json.dumps([name, text, error.errors()[0]["msg"]]))


if len(sys.argv) > 1:
    refused(sys.argv[1])
else:
    schemas = {name: published(name) for name in types}
    print(f'{{"pydantic": "{pydantic.VERSION}", "schemas": {{')
    print(",\n".join(f"{json.dumps(name)}: {json.dumps(schema)}" for name, schema in schemas.items()))
    print("}}")
