// spec: ../specs/std-list.cons
//
// Numbers in a std::list, with a trick: a node is moved to the front by hand.
// FAULT: the trick casts the iterator to the node that it holds and forgets
// that the list is doubly linked: the old front points back at itself.
#include <cstdio>
#include <list>

std::list<int> numbers;

static void move_to_front(std::list<int>::iterator it)
{
#ifdef FAULT
	auto *n = it._M_node, *first = numbers.begin()._M_node;
	n->_M_prev->_M_next = n->_M_next;
	n->_M_next->_M_prev = n->_M_prev;
	n->_M_next = first;
	n->_M_prev = first->_M_prev;
	first->_M_prev = first; // FAULT
	n->_M_prev->_M_next = n;
#else
	numbers.splice(numbers.begin(), numbers, it);
#endif
}

int main()
{
	for (int i = 0; i < 20; i++)
		numbers.push_back(i);
	numbers.remove(7);
	numbers.push_front(-1);
	auto it = numbers.begin();
	for (int i = 0; i < 5; i++)
		++it;
	move_to_front(it);
	std::printf("%d\n", numbers.front());
	return 0;
}
