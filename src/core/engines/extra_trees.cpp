// Explicit instantiation in a file of its own, so that the engines compile in parallel.

#include "engines/extra_trees.hpp"

namespace treewise {

template class ExtraTreesEngine<TargetKind::binary>;
template class ExtraTreesEngine<TargetKind::multiclass>;
template class ExtraTreesEngine<TargetKind::regression>;

}  // namespace treewise
