// Runs a command of package.json, such as npm start: installs and builds what it needs first, and passes on its arguments.
//
// package.json has `exec node`, and commands run in this process where possible, because the shell that npm starts would be killed by a
// signal and leave its child behind.

import { join } from "node:path";
import {
  ensureBuilt,
  ensureCommandBuilt,
  ensureCompiled,
  ensureInstalled,
  root,
  run,
  SetupError,
  say,
} from "./setup.mjs";

const node = (...args) => run(process.execPath, args, { stdout: "inherit" });
/** A command whose module has a function `main`. */
const moduleOf = (file) => async (args) => (await import(file)).main(args);

/** The commands, with what is built before them. */
const commands = {
  install: [() => {}, () => 0],
  build: [ensureBuilt, () => 0],
  start: [ensureCommandBuilt, start],
  test: [ensureCompiled, test],
  lint: [ensureCompiled, moduleOf("./lint.mjs")],
  bench: [ensureBuilt, bench],
  conformance: [ensureBuilt, moduleOf("./conformance.mjs")],
  mutation: [() => {}, moduleOf("./mutation.mjs")],
  generate: [() => {}, generate],
  docs: [ensureBuilt, docs],
};

async function start(args) {
  const { loadBundle } = await import("../packages/cli/bin/load-bundle.js");
  const { main, processIo } = loadBundle("gateway").exports;
  return main(["up", ...args], { ...processIo(), program: "npx wirescope" });
}

/** Runs vitest: without --project, the tests that need nothing but npm. */
function test(args) {
  const isChosen = args.some((arg) => arg.startsWith("--project"));
  const projects = isChosen ? [] : ["units", "process", "e2e"].map((name) => `--project=${name}`);
  return node(join(root, "node_modules", "vitest", "vitest.mjs"), "run", ...projects, ...args);
}

/** Runs the benchmarks, which measure memory; or, with `soak`, many clients and servers with an hour's churn. */
function bench(args) {
  const programs = join(root, "benchmarks", "dist");
  if (args[0] === "soak") return node(join(programs, "soak", "main.js"), ...args.slice(1));
  return node("--expose-gc", join(programs, "main.js"), ...args);
}

/** Generates src/gen from proto/, and docs/reference.md from the tables and schemas of the code. */
async function generate() {
  const buf = join(root, "node_modules", "@bufbuild", "buf", "bin", "buf");
  for (const template of ["buf.gen.yaml", "buf.gen.gateway.yaml"]) {
    const code = await node(buf, "generate", "--template", template);
    if (code !== 0) return code;
  }
  // The code that uses what was generated compiles only now.
  await ensureCompiled();
  const { writeReference } = await import("./reference.mjs");
  await writeReference();
  return 0;
}

function docs([page = "", ...args]) {
  const files = { api: "./api-docs.mjs", screenshots: "./screenshots.mjs" };
  if (!Object.hasOwn(files, page)) throw new SetupError("Usage: npm run docs -- api, or npm run docs -- screenshots.");
  return moduleOf(files[page])(args);
}

try {
  const [name = "", ...args] = process.argv.slice(2);
  if (!Object.hasOwn(commands, name))
    throw new SetupError(`Unknown command "${name}". Commands: ${Object.keys(commands).join(", ")}.`);
  const [build, main] = commands[name];
  await ensureInstalled();
  await build();
  process.exitCode = await main(args);
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  say(error.message);
  process.exitCode = error.exitCode;
}
