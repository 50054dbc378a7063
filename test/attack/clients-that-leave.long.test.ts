/** The tests of clients-that-leave.test.ts in full: see test/support/length.ts. */
import './clients-that-leave.test.ts'
