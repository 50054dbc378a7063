/** The tests of routes-and-bodies.test.ts in full: see test/support/length.ts. */
import './routes-and-bodies.test.ts'
