// The engine of random cuts, compiled here, apart from the others: a build takes as long as its longest file.

#include "engines/extra_trees.hpp"

namespace treewise {

template class RandomCuts<Shape::two>;
template class RandomCuts<Shape::many>;
template class RandomCuts<Shape::sums>;

}  // namespace treewise
