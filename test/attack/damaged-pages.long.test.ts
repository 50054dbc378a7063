/** The tests of damaged-pages.test.ts in full: see test/support/campaign-share.ts. */
import './damaged-pages.test.ts'
