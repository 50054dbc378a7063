/** The tests of tenants-and-names.test.ts in full: see test/support/length.ts. */
import './tenants-and-names.test.ts'
