package cxxname

import "testing"

func TestBrief(t *testing.T) {
	for _, test := range []struct {
		name string
		most int
		want string
	}{
		{"Map<int, long>::put(std::vector<int>)", 60, "Map<int, long>::put(std::vector<int>)"},
		{"Map<std::pair<int, std::string>, long>::put(std::vector<int>)", 40, "Map<…>::put(std::vector<int>)"},
		{"Map<std::pair<int, std::string>, long>::put(std::vector<int>)", 10, "Map<…>::put(std::vector<int>)"},
		{"operator< <std::pair<int, int>>(std::pair<int, int> const&)", 30, "operator< <…>(std::pair<…> const&)"},
		{"a_function_of_c_with_a_long_name", 10, "a_function_of_c_with_a_long_name"},
		{"Map<T>::put()", 5, "Map<T>::put()"}, // it would be no shorter
		{"broken<name", 5, "broken<name"},
	} {
		if got := Brief(test.name, test.most); got != test.want {
			t.Errorf("%s in %d: %s, want %s", test.name, test.most, got, test.want)
		}
	}
}
