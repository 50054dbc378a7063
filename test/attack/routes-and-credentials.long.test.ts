/** The tests of routes-and-credentials.test.ts in full: see test/support/length.ts. */
import './routes-and-credentials.test.ts'
