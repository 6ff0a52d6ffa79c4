# Page rank of a random graph.
import random

random.seed(4)
pages = range(400)
links = {p: random.sample(pages, random.randint(1, 8)) for p in pages}
rank = {p: 1 / len(pages) for p in pages}
for _ in range(8):
    new = {p: 0.15 / len(pages) for p in pages}
    for p, to in links.items():
        for q in to:
            new[q] += 0.85 * rank[p] / len(to)
    rank = new
print("%.6f" % max(rank.values()))
