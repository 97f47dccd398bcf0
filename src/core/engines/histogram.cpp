// The engine of large nodes, compiled here, apart from the others: a build takes as long as its longest file.

#include "engines/histogram.hpp"

namespace treewise {

template class Histograms<Shape::two>;
template class Histograms<Shape::many>;
template class Histograms<Shape::sums>;

}  // namespace treewise
