/** The tests of alert-kills.test.ts in full: see test/support/campaign-share.ts. */
import './alert-kills.test.ts'
