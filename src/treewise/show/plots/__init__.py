"""Charts in matplotlib; each function takes and returns an ``Axes``. The ``draw`` methods of results lead here.

evaluation.py  confusion matrix, ROC, precision-recall, calibration   ``tree.evaluate(test).draw("roc")``
               importances of columns                                 ``tree.importances().draw()``
curves.py      training and validation error by size                  ``tw.curve(…).draw()``
               error of an ensemble by number of trees                ``ensemble.draw_stages(data)``
splits.py      gain of every threshold of a column at a node          ``tree.trace(data)[0].draw("age")``
               impurity of two classes (chapter 8, figure 8.4)        ``tw.draw_impurity()``
"""
