/** The tests of clients-that-leave.test.ts in full: see test/support/campaign-share.ts. */
import './clients-that-leave.test.ts'
