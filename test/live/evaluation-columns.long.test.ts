/** The tests of evaluation-columns.test.ts in full: see test/support/campaign-share.ts. */
import './evaluation-columns.test.ts'
