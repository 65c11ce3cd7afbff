import { mkdirSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

type Settings = NonNullable<ViteUserConfig["test"]>;

/** Tests that need a process of their own: they measure it, or change it as a whole. */
const ownProcess = "**/*.process.test.ts";
/** Tests with a command of their own: npm run test:long, npm run test:page. */
const long = "**/*.long.test.ts";
const page = "**/*.page.test.ts";

// All test files, each in one project. Files share processes unless their project is isolated: most of the time of a small test is the
// loading of modules.
const projects: Record<string, Settings> = {
  e2e: { include: ["test/*.test.ts", "test/e2e/*.test.ts"], exclude: [ownProcess, long, page] },
  process: { include: [ownProcess], isolate: true },
  // npm run test:fast. Nothing is built for them, so that one file starts at once.
  units: { include: ["packages/*/src/**/*.test.ts"], exclude: [ownProcess, long] },

  // Loops of faults, kills and floods, and hundreds of objects that must be collected.
  long: { include: [long], isolate: true },
  // Every view of the page in Chromium; one file that opens all of them is in e2e.
  page: { include: [page] },
  // Installs a fresh clone, and the packages as npm would publish them, on each supported version of Node, which it downloads.
  packages: { include: ["test/packages/*.test.ts"], isolate: true, testTimeout: 600_000, hookTimeout: 600_000 },
  // Reads the Channelz of programs that it builds with the gRPC libraries of Debian for Go, C++ and Python, which it installs.
  peers: { include: ["test/peers/*.test.ts"], isolate: true, hookTimeout: 900_000 },
};

/** Runs one project after the other, with the small files last: a process can be shared only by consecutive files of a project. */
class ByProject extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const order = Object.keys(projects);
    const orderOf = ({ project }: TestSpecification): number => order.indexOf(project.name);
    return (await super.sort(files)).toSorted((a, b) => orderOf(a) - orderOf(b));
  }
}

/** For V8's compiled code of the command, in place of the user's cache folder. */
const cacheFolder = fileURLToPath(new URL("node_modules/.cache/wirescope-tests", import.meta.url));
mkdirSync(cacheFolder, { recursive: true });

/** The projects whose tests import the packages as they are published: loading a thousand sources takes seconds in each process. */
const withPackages = ["e2e", "page"];
const conditions = ["@wirescope/source"];
/** With these, tests import the sources of the packages by their names. */
const fromSources = { resolve: { conditions }, ssr: { resolve: { conditions, externalConditions: conditions } } };

export default defineConfig({
  test: {
    env: { XDG_CACHE_HOME: cacheFolder },
    // Keeps transformed sources in node_modules.
    experimental: { fsModuleCache: true },
    pool: "forks",
    isolate: false,
    sequence: { sequencer: ByProject },
    // Most tests wait for other processes, so two cores run five files at a time.
    maxWorkers: Math.max(5, availableParallelism()),
    // The tests of lifetime ask the garbage collector; nothing else in the project does.
    execArgv: ["--expose-gc"],
    // Only a hang reaches these: tests wait for conditions, and a busy machine is ten times slower than an idle one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 60_000 } },
    projects: Object.entries(projects).map(([name, { exclude = [], ...settings }]) => ({
      extends: true,
      ...(withPackages.includes(name) ? {} : fromSources),
      test: {
        name,
        exclude: ["**/node_modules/**", "**/dist/**", ...exclude],
        server: { deps: { external: [/\/packages\/[^/]+\/dist\//] } },
        // Builds the command as it is published, the page, and the packages that programs of tests import.
        globalSetup: name === "units" ? [] : ["./scripts/setup.mjs"],
        ...settings,
      },
    })),
  },
});
