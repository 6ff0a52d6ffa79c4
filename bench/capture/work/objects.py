"""Objects, dictionaries, lists, strings and exceptions of python3. Argument: rounds."""
import heapq
import sys


class Node:
    def __init__(self, key):
        self.key, self.left, self.right = key, None, None


def insert(root, key):
    while root.key != key:
        side = "left" if key < root.key else "right"
        below = getattr(root, side)
        if below is None:
            setattr(root, side, Node(key))
            return 1
        root = below
    return 0


state, nodes, bad = 12345, 0, 0
root, queue, words = Node(0x3fffff), [], {}
for i in range(int(sys.argv[1])):
    state = (state * 1103515245 + 12345) & 0x7fffffff
    nodes += insert(root, (state >> 8) & 0xffff)
    heapq.heappush(queue, (state & 0xffff, i))
    if len(queue) > 500:
        heapq.heappop(queue)
    word = "w%d" % (state % 3001)
    words.setdefault(word, []).append(i)
    if len(words[word]) > 20:
        words[word] = words[word][-5:]
    try:
        bad += int(word[1:] if state & 7 else word)
    except ValueError:
        bad += 1
print(nodes, len(words), queue[0], bad)
