"""``treewise regions``: trees side by side, parameter grids and errors."""

import treewise as tw


def test_two_trees_side_by_side(run, tmp_path):
    run("grow outlier -q -o t.json")
    run("prune t.json --method reduced_error --validation outlier_validation -q -o p.json")
    assert run("regions t.json outlier_validation --with-tree -o w.svg").err == "1 picture → w.svg\n"
    result = run("regions t.json p.json outlier_validation -o r.svg")
    assert (result.code, result.out, result.err) == (0, "", "2 pictures → r.svg\n")
    trees = {name: tw.load(tmp_path / name) for name in ("t.json", "p.json")}
    tw.draw_regions(trees, "outlier_validation", "x1", "x2", path=tmp_path / "own.svg")
    assert tmp_path.joinpath("r.svg").read_bytes() == tmp_path.joinpath("own.svg").read_bytes()


def test_one_of_many_trees_beside_a_single_one(run, tmp_path):
    run("grow outlier -q -o t.json")
    run("grow outlier --ensemble forest --n-estimators 3 -q -o f.json")
    result = run("regions t.json f.json outlier_validation --tree 2 -o r.svg")
    assert (result.code, result.err) == (0, "2 pictures → r.svg\n")
    trees = {"t.json": tw.load(tmp_path / "t.json"), "tree 2 of f.json": tw.load(tmp_path / "f.json")[2]}
    tw.draw_regions(trees, "outlier_validation", "x1", "x2", path=tmp_path / "own.svg")
    assert tmp_path.joinpath("r.svg").read_bytes() == tmp_path.joinpath("own.svg").read_bytes()
    for words, message in (
        ("f.json outlier_validation", "f.json holds 3 trees. Choose one with --tree N (0 to 2)"),
        ("t.json outlier_validation --tree 0", "--tree 0: t.json holds a single tree. Leave it out."),
        ("outlier --tree 0", "--tree picks one of a MODEL's trees, and no MODEL is given. Leave it out."),
    ):
        result = run(f"regions {words} -o no.svg")
        assert result.code == 2
        assert message in result.err


def test_columns_and_held_values(run, model, tmp_path):
    result = run(f"regions {model} penguins --x island --y flipper_length_mm --fixed bill_length_mm=40 -o r.png")
    assert (result.code, result.err) == (0, "1 picture → r.png\n")
    assert tmp_path.joinpath("r.png").read_bytes().startswith(b"\x89PNG")
    tree = tw.load(tmp_path / model)
    drawn = run(f"regions {model} penguins --fixed island= -o r.svg")
    assert drawn.code == 0
    tree_axes = tw.draw_regions(
        {model: tree}, "penguins", "flipper_length_mm", "bill_length_mm", fixed={"island": None}
    )
    from treewise.show.mpl_helpers import figure_bytes

    assert tmp_path.joinpath("r.svg").read_bytes() == figure_bytes(tree_axes[0].figure, "svg")


def test_a_grid_of_parameters(run, tmp_path):
    result = run("regions noisy --vary max-depth=1,2 --vary min_samples_leaf=40,10 -o g.svg")
    assert (result.code, result.err) == (0, "4 pictures → g.svg\n")
    vary = {"max_depth": [1, 2], "min_samples_leaf": [40, 10]}
    tw.draw_regions_grid("noisy", vary=vary, path=tmp_path / "own.svg")
    assert tmp_path.joinpath("g.svg").read_bytes() == tmp_path.joinpath("own.svg").read_bytes()


def test_errors(run, model, tmp_path):
    before = sorted(tmp_path.iterdir())
    for words, code, message in (
        (f"{model} penguins", 2, "-o FILE says where to draw: a name that ends in .png, .svg or .pdf."),
        (f"{model} penguins -o r.gif", 2, "-o FILE says where to draw"),
        (f"{model} -o r.png", 2, f"regions needs a table too: treewise regions {model} DATA."),
        (
            f"{model} penguins --x isle -o r.png",
            3,
            'the models have no column "isle". Did you mean "island"?',
        ),
        (f"{model} penguins --fixed island=Drem -o r.png", 2, '"island" is never "Drem". Did you mean "Dream"?'),
        (f"{model} penguins --fixed island -o r.png", 2, '"island" is not COLUMN=VALUE'),
        (f"{model} penguins --vary max_depth=1 -o r.png", 2, "--vary grows trees anew, on DATA alone."),
        ("noisy --fixed x1=2 -o r.png", 2, "--fixed is for trees that use other columns"),
        ("noisy --vary max_depth -o r.png", 2, '"max_depth" is not PARAMETER=A,B,…, such as max_depth=1,2,4.'),
        ("noisy --vary dept=1,2 -o r.png", 2, 'vary: trees are not grown by "dept".'),
        ("noisy --with-tree -o r.png", 2, "--with-tree is for one MODEL. Leave it out."),
        (f"{model} {model} penguins --with-tree -o r.png", 2, "--with-tree: this is for one tree"),
        (f"{model} penguins -o nowhere/r.png", 2, 'there is no folder "nowhere"'),
    ):
        result = run(f"regions {words}")
        assert (result.code, result.out) == (code, ""), (words, result)
        assert message in result.err, (words, result)
    assert sorted(tmp_path.iterdir()) == before
