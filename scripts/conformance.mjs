// npm run conformance: the official suite of the protocol on our client, in every revision that it knows.
//
//   npm run conformance -- --only tools_call     the scenarios whose names begin so
//   npm run conformance -- --revision 2026-07-28
//   npm run conformance -- --verbose             with all that the suite says
//
// The suite needs Node 22. Where this is an older one, a newer runs the suite, and our client runs on this one.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { command, root, run, SetupError } from "./setup.mjs";

const suiteVersion = "0.2.0-alpha.12";
const nodeVersion = "22.23.3";
const folder = join(root, "conformance", ".suite");
const client = join(root, "conformance", "dist", "client.js");

await command(async (args) => {
  const { values } = parseArgs({
    args,
    options: { only: { type: "string" }, revision: { type: "string" }, verbose: { type: "boolean" } },
  });
  const suite = await install();
  const revisions = suite.revisions.filter((revision) => values.revision === undefined || revision === values.revision);
  let hasFailed = revisions.length === 0;
  for (const revision of revisions) {
    const list = scenariosOf(suite, revision).filter(({ name }) => name.startsWith(values.only ?? ""));
    console.log(`\n${revision}: ${list.length} scenarios`);
    for (const { name, isRequired } of list) {
      const { isPassed, output } = await runScenario(suite, name, revision);
      const mark = isPassed ? "passed" : isRequired ? "FAILED" : "failed, not required";
      console.log(`  ${name.padEnd(44)} ${mark}`);
      if (values.verbose || (!isPassed && isRequired)) console.log(output.replace(/^/gm, "    "));
      hasFailed ||= !isPassed && isRequired;
    }
  }
  return hasFailed ? 1 : 0;
});

/** Installs the suite beside our client, once; gives where it is and what runs it. */
async function install() {
  const isNewEnough = Number(process.versions.node.split(".", 1)) >= 22;
  const nodePackage = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const wanted = [
    `@modelcontextprotocol/conformance@${suiteVersion}`,
    ...(isNewEnough ? [] : [`${nodePackage}@${nodeVersion}`]),
  ];
  const record = join(folder, "installed");
  if (!existsSync(record) || readFileSync(record, "utf8") !== wanted.join("\n")) {
    console.error(`Installing the suite: ${wanted.join(", ")}.`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), '{"private": true}\n');
    const code = await run("npm", ["install", "--loglevel=error", "--no-progress", "--prefix", folder, ...wanted]);
    if (code !== 0) throw new SetupError(`The suite cannot be installed: npm ended with code ${code}.`);
    writeFileSync(record, wanted.join("\n"));
  }
  const home = join(folder, "node_modules", "@modelcontextprotocol", "conformance");
  return {
    home,
    main: join(home, "dist", "index.js"),
    node: isNewEnough ? process.execPath : join(folder, "node_modules", nodePackage, "bin", "node"),
    revisions: readdirSync(join(home, "requirements"))
      .map((file) => /^([\d-]+)\.yaml$/.exec(file)?.[1])
      .filter((revision) => revision !== undefined)
      .sort(),
  };
}

/** The scenarios for clients that a revision requires, then those that it only reports. */
function scenariosOf({ home }, revision) {
  const text = readFileSync(join(home, "requirements", `${revision}.yaml`), "utf8");
  const section = (name) => new RegExp(`^${name}:\\n((?:[ #-].*\\n|\\n)*)`, "m").exec(`${text}\n`)?.[1] ?? "";
  const required = [...section("client").matchAll(/^ *- ([\w/.-]+)$/gm)].map(([, name]) => name);
  const reported = [...section("not_scored").matchAll(/- scenario: (\S+)\n +leg: client$/gm)].map(([, name]) => name);
  return [
    ...required.map((name) => ({ name, isRequired: true })),
    ...reported.map((name) => ({ name, isRequired: false })),
  ];
}

function runScenario({ node, main }, name, revision) {
  const ours = `${JSON.stringify(process.execPath)} ${JSON.stringify(client)}`;
  const args = [main, "client", "--command", ours, "--scenario", name, "--spec-version", revision];
  return new Promise((resolve, reject) => {
    const child = spawn(node, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ isPassed: code === 0, output }));
  });
}
