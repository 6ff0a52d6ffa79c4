import collections, decimal, gc, hashlib, json, os, pickle, random, re, subprocess, sys, threading, zlib

random.seed(5)
d = {str(i): [random.random() for _ in range(5)] for i in range(1000)}
print(hashlib.sha1(json.dumps(d, sort_keys=True).encode()).hexdigest())
print(len(pickle.dumps(d)), len(zlib.compress(pickle.dumps(d))))
print(collections.Counter(re.findall(r"\w", repr(d))).most_common(4), decimal.Decimal(2).sqrt())

done = []
def work(n):
    for i in range(1000):
        done.append((n, i))
threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(len(done))

class Cycle:
    def __init__(self):
        self.me = self
for i in range(2000):
    Cycle()
gc.collect()
print(subprocess.run(["echo", "child"], capture_output=True).stdout)
try:
    1 / 0
except ZeroDivisionError as e:
    print(e)
sys.stdout.flush()
pid = os.fork()
if pid == 0:
    os._exit(3)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
sys.exit(9)
