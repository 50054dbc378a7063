/** The tests of routes-and-bodies.test.ts in full: see test/support/campaign-share.ts. */
import './routes-and-bodies.test.ts'
