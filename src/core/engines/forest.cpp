// The engine of forests, compiled here, apart from the others: a build takes as long as its longest file.

#include "engines/forest.hpp"

namespace treewise {

template class Drawn<Shape::two>;
template class Drawn<Shape::many>;
template class Drawn<Shape::sums>;

}  // namespace treewise
