// Explicit instantiation in a file of its own, so that the engines compile in parallel.

#include "engines/forest.hpp"

namespace treewise {

template class ForestEngine<TargetKind::binary>;
template class ForestEngine<TargetKind::multiclass>;
template class ForestEngine<TargetKind::regression>;

}  // namespace treewise
