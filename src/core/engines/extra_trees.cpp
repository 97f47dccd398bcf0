// The engine of random cuts, compiled here, apart from the others: a build takes as long as its longest file.

#include "engines/extra_trees.hpp"

namespace treewise {

template class ExtraTreesEngine<TargetKind::binary>;
template class ExtraTreesEngine<TargetKind::multiclass>;
template class ExtraTreesEngine<TargetKind::regression>;

}  // namespace treewise
