# Parts of Python's own tests, without what differs from run to run.
import io, sys, unittest

for name in sys.argv[1:]:
    suite = unittest.defaultTestLoader.loadTestsFromName(name)
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
    bad = sorted(str(t) for t, _ in result.failures + result.errors)
    print(name, result.testsRun, len(result.skipped), bad)
