// The engine of small nodes, compiled here, apart from the others: a build takes as long as its longest file.

#include "engines/subtree.hpp"

namespace treewise {

template class SubtreeEngine<TargetKind::binary>;
template class SubtreeEngine<TargetKind::multiclass>;
template class SubtreeEngine<TargetKind::regression>;

}  // namespace treewise
