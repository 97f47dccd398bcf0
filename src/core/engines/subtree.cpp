// The engine of small nodes, compiled here, apart from the others: a build takes as long as its longest file.

#include "engines/subtree.hpp"

namespace treewise {

template class Cluster<Shape::two>;
template class Cluster<Shape::many>;
template class Cluster<Shape::sums>;

}  // namespace treewise
