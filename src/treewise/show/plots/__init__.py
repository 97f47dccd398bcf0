"""Charts of results. The ``draw`` methods of results lead here.

chart.py       a chart as data: axes, marks, legend; the ``ChartPicture`` that a notebook shows
chart_scene.py     the chart as a scene, rendered like the pictures of trees (chart_axes.py: on matplotlib axes)
evaluation.py  confusion matrix, ROC, gains, lift, calibration …      ``tree.evaluate(test).draw("roc")``
importances.py importances of columns                                 ``tree.importances().draw()``
curves.py      training and validation error by size                  ``tw.curve(…).draw()``
               error of an ensemble by number of trees                ``ensemble.draw_stages(data)``
splits.py      gain of every threshold of a column at a node          ``tree.trace(data)[0].draw("age")``
               impurity of two classes (chapter 8, figure 8.4)        ``tw.draw_impurity()``
boundaries.py  every candidate threshold of a node, with its gain     ``tw.candidates(data).draw_boundaries()``

``draw_stages`` and ``splits.py`` draw on matplotlib axes, which a notebook shows as well.
"""
