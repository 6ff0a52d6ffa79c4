// A tree of intervals, balanced, in which each node knows its parent and the highest end below it. At -O2 it is
// all in main, and one of the stores to parent is none, since memory holds the value already.
// FAULT: in a rotation, the subtree that changes sides is not told so.
#include <memory>
#include <algorithm>
#include <cstdio>
#include <utility>

struct Interval { int lo, hi; };

class IntervalTree {
public:
  struct Node {
    Interval iv;
    int max;
    int height = 1;
    std::unique_ptr<Node> left, right;
    Node *parent = nullptr;
    explicit Node(Interval i) : iv(i), max(i.hi) {}
  };
  void insert(Interval i);
  bool erase(int lo, int hi);
  const Node *find(int point) const;
  int size() const { return count; }
private:
  std::unique_ptr<Node> root;
  int count = 0;
  static int h(const std::unique_ptr<Node> &n) { return n ? n->height : 0; }
  static void update(Node *n) {
    n->height = 1 + std::max(h(n->left), h(n->right));
    n->max = n->iv.hi;
    if (n->left) n->max = std::max(n->max, n->left->max);
    if (n->right) n->max = std::max(n->max, n->right->max);
  }
  void rotateLeft(std::unique_ptr<Node> &slot) {
    std::unique_ptr<Node> r = std::move(slot->right);
    Node *p = slot->parent;
    slot->right = std::move(r->left); // FAULT
#ifndef FAULT
    if (slot->right) slot->right->parent = slot.get();
#endif
    r->left = std::move(slot);
    r->left->parent = r.get();
    r->parent = p;
    slot = std::move(r);
    update(slot->left.get());
    update(slot.get());
  }
  void rotateRight(std::unique_ptr<Node> &slot) {
    std::unique_ptr<Node> l = std::move(slot->left);
    Node *p = slot->parent;
    slot->left = std::move(l->right);
    if (slot->left) slot->left->parent = slot.get();
    l->right = std::move(slot);
    l->right->parent = l.get();
    l->parent = p;
    slot = std::move(l);
    update(slot->right.get());
    update(slot.get());
  }
  void balance(std::unique_ptr<Node> &slot) {
    update(slot.get());
    int b = h(slot->left) - h(slot->right);
    if (b > 1) {
      if (h(slot->left->left) < h(slot->left->right)) rotateLeft(slot->left);
      rotateRight(slot);
    } else if (b < -1) {
      if (h(slot->right->right) < h(slot->right->left)) rotateRight(slot->right);
      rotateLeft(slot);
    }
  }
  void insert(std::unique_ptr<Node> &slot, Node *parent, Interval i) {
    if (!slot) {
      slot = std::make_unique<Node>(i);
      slot->parent = parent;
      count++;
      return;
    }
    if (i.lo < slot->iv.lo)
      insert(slot->left, slot.get(), i);
    else
      insert(slot->right, slot.get(), i);
    balance(slot);
  }
  std::unique_ptr<Node> takeMin(std::unique_ptr<Node> &slot) {
    if (!slot->left) {
      std::unique_ptr<Node> m = std::move(slot);
      slot = std::move(m->right);
      if (slot) slot->parent = m->parent;
      return m;
    }
    auto m = takeMin(slot->left);
    balance(slot);
    return m;
  }
  bool erase(std::unique_ptr<Node> &slot, Interval i) {
    if (!slot) return false;
    bool done;
    if (slot->iv.lo == i.lo && slot->iv.hi == i.hi) {
      Node *p = slot->parent;
      if (!slot->right) {
        std::unique_ptr<Node> l = std::move(slot->left);
        slot = std::move(l);
        if (slot) slot->parent = p;
      } else {
        auto m = takeMin(slot->right);
        m->left = std::move(slot->left);
        m->right = std::move(slot->right);
        if (m->left) m->left->parent = m.get();
        if (m->right) m->right->parent = m.get();
        m->parent = p;
        slot = std::move(m);
      }
      count--;
      done = true;
    } else if (i.lo < slot->iv.lo)
      done = erase(slot->left, i);
    else
      done = erase(slot->right, i);
    if (slot) balance(slot);
    return done;
  }
};
void IntervalTree::insert(Interval i) { insert(root, nullptr, i); }
bool IntervalTree::erase(int lo, int hi) { return erase(root, {lo, hi}); }
const IntervalTree::Node *IntervalTree::find(int x) const {
  const Node *n = root.get();
  while (n && !(n->iv.lo <= x && x <= n->iv.hi)) n = n->left && n->left->max >= x ? n->left.get() : n->right.get();
  return n;
}
int main() {
  IntervalTree t;
  unsigned s = 7;
  int los[400];
  int n = 0;
  auto rnd = [&] { s = s * 1103515245 + 12345; return s >> 16; };
  for (int i = 0; i < 400; i++) {
    int lo = rnd() % 5000;
    t.insert({lo, lo + 10});
    los[n++] = lo;
    if (i % 3 == 2) {
      int k = rnd() % n;
      t.erase(los[k], los[k] + 10);
      los[k] = los[--n];
    }
  }
  std::printf("%d %d\n", t.size(), t.find(2500) != nullptr);
}
