// Explicit instantiation in a file of its own, so that the engines compile in parallel.

#include "engines/subtree.hpp"

namespace treewise {

template class SubtreeEngine<TargetKind::binary>;
template class SubtreeEngine<TargetKind::multiclass>;
template class SubtreeEngine<TargetKind::regression>;

}  // namespace treewise
