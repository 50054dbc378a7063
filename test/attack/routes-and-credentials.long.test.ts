/** The tests of routes-and-credentials.test.ts in full: see test/support/campaign-share.ts. */
import './routes-and-credentials.test.ts'
