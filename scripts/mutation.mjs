// npm run mutation: runs mutation tests and lists the mutations that no test notices.
//
//   npm run mutation                      the parts below, one after the other
//   npm run mutation -- registry          one of them
//   npm run mutation -- registry/links.ts one file of it
//
// Each mutation is tested only with the tests next to the code. The reports are in .mutation/reports.

import { subscribe } from "node:diagnostics_channel";
import { rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { installTools, root, SetupError } from "./setup.mjs";

/** Each part is a folder, its files to mutate, and the tests to run; default: all files, and all tests. */
const parts = {
  registry: ["packages/channelz/src/registry"],
  // All tests of the folder run this code, but only these are about it.
  tables: ["packages/channelz/src/registry", "{id-index,ordered-table}.ts", "{id-index,ordered-table}.process.test.ts"],
  client: ["packages/channelz/src/client"],
  substitution: [
    "packages/tool-server/src/config",
    "{check-variables,env-file,substitute-entry,template,url-template}.ts",
  ],
  credentials: ["packages/tool-server/src/auth/credentials"],
  // Helpers and sign-ins share it. The other folders of the package are below this one, so its own test is named.
  "single-flight": ["packages/tool-server/src", "single-flight.ts", "single-flight.test.ts"],
  why: ["packages/tool-server/src/why", "{*,walk/*}.ts"],
  // Pure functions of evidence: their tests have no server to wait for.
  steps: ["packages/tool-server/src/why", "{steps,requirements}.ts", "{steps,requirements}.test.ts"],
  causes: ["packages/tool-server/src/causes"],
  rank: ["packages/tool-server/src/why/rank"],
};

// 170 packages that nothing else needs; they find vitest in the checkout. Version 10 needs Node 22.
const strykerPackages = { "@stryker-mutator/core": "9.6.1", "@stryker-mutator/vitest-runner": "9.6.1" };
const home = join(root, ".mutation");
const sandbox = join(".mutation", `sandbox-${process.pid}`);
const packageOf = (name) => join(home, "node_modules", "@stryker-mutator", name, "dist", "src", "index.js");

/** Mutates the code of one part, or of one of its files; returns all mutations and their results. */
async function mutate(Stryker, name, file, concurrency) {
  const [folder, files = "**/*.ts", tests = "**/*.test.ts"] = parts[name];
  const stryker = new Stryker({
    // What happens to dropped objects is tested with the garbage collector, which vitest.mutation.config.ts leaves out.
    mutate: [`${folder}/${file ?? files}`, "!**/*.test.ts", "!**/*.test.helper.ts", "!**/drop-watch.ts"],
    testFiles: [`${folder}/${tests}`],
    testRunner: "vitest",
    vitest: { configFile: "vitest.mutation.config.ts", dir: folder, related: false },
    plugins: [packageOf("vitest-runner")],
    // Worker threads do not accept this flag.
    testRunnerNodeArgs: ["--expose-gc"],
    coverageAnalysis: "perTest",
    // A mutation of code that runs at import would require all tests of the folder.
    ignoreStatic: true,
    // The wording of messages is not what these tests are about.
    mutator: { excludedMutations: ["StringLiteral"] },
    concurrency,
    timeoutMS: 5000,
    timeoutFactor: 3,
    // Stryker would rewrite it with the TypeScript API, which version 7 does not have.
    tsconfigFile: "none",
    // Another run may have its sandbox in .mutation as well.
    ignorePatterns: [
      "/.mutation",
      "/examples",
      "/benchmarks",
      "/conformance",
      "/deploy",
      "/test/e2e",
      "dist",
      "bundle",
    ],
    tempDirName: sandbox,
    reporters: ["html", "progress-append-only"],
    htmlReporter: { fileName: `.mutation/reports/${name}.html` },
    logLevel: "warn",
    allowEmpty: true,
  });
  try {
    return await stryker.runMutationTest();
  } catch (error) {
    throw new SetupError(
      `Stryker failed: ${error.message} See its output above; the tests must pass without mutations.`,
    );
  }
}

/** Kills the workers when this process exits, and removes their copies of the checkout: on a signal, Stryker leaves both behind. */
function endWorkersAtExit() {
  const workers = new Set();
  subscribe("child_process", ({ process: worker }) => {
    workers.add(worker);
    worker.once("exit", () => workers.delete(worker));
  });
  // Stryker listens while it runs, but not between two parts.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, (_, number) => process.exit(128 + number));
  process.on("exit", () => {
    // A mutation may have put a worker into an endless loop, in which it handles no other signal.
    for (const worker of workers) worker.kill("SIGKILL");
    rmSync(join(root, sandbox), { recursive: true, force: true });
  });
}

export async function main(args) {
  const { values, positionals } = parseArgs({
    args,
    options: { concurrency: { type: "string", default: String(Math.max(1, availableParallelism() - 1)) } },
    allowPositionals: true,
  });
  const concurrency = Number(values.concurrency);
  if (!Number.isInteger(concurrency) || concurrency < 1)
    throw new SetupError(`--concurrency must be a positive integer, not "${values.concurrency}".`);
  const wanted = positionals.length === 0 ? Object.keys(parts) : positionals;
  for (const one of wanted) {
    const [name] = one.split("/", 1);
    if (!Object.hasOwn(parts, name))
      throw new SetupError(`Unknown part "${name}". Parts: ${Object.keys(parts).join(", ")}.`);
  }
  await installTools(home, strykerPackages, "--legacy-peer-deps");
  endWorkersAtExit();
  const { Stryker } = await import(packageOf("core"));
  for (const one of wanted) {
    const [name, ...file] = one.split("/");
    const startedAt = performance.now();
    const results = await mutate(Stryker, name, file.length === 0 ? undefined : file.join("/"), concurrency);
    print(one, results, (performance.now() - startedAt) / 60_000);
  }
  return 0;
}

/** Prints the surviving mutations, and the score. */
function print(name, results, minutes) {
  const of = (...statuses) => results.filter(({ status }) => statuses.includes(status));
  const missed = of("Survived", "NoCoverage");
  for (const { fileName, location, mutatorName, replacement, status } of missed) {
    const at = `${fileName.replace(/^.*\/src\//, "")}:${location.start.line}:${location.start.column}`;
    const how = status === "NoCoverage" ? " (no test runs it)" : "";
    console.log(`${at} ${mutatorName}${how}: ${replacement.replace(/\s+/g, " ").slice(0, 100)}`);
  }
  const noticed = of("Killed", "Timeout").length;
  const all = noticed + missed.length;
  if (all === 0) throw new SetupError(`${name} has no mutations. Check the file name.`);
  const score = `${((100 * noticed) / all).toFixed(1)} %`;
  console.log(`${name}: ${score} of ${all} mutations killed, in ${minutes.toFixed(1)} min`);
}
