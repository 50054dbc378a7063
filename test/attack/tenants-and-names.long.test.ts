/** The tests of tenants-and-names.test.ts in full: see test/support/campaign-share.ts. */
import './tenants-and-names.test.ts'
