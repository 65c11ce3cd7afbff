// The official suite: its location, the Node that runs it, and the scenarios of each revision of the protocol.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { root, run, SetupError } from "../setup.mjs";

const suiteVersion = "0.2.0-alpha.12";
const nodeVersion = "22.23.3";
const folder = join(root, "conformance", ".suite");

/** Installs the suite in conformance/.suite, once; returns its location and the Node that runs it. */
export async function installSuite() {
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

/** The scenarios of one side, `client` or `server`, that a revision requires, then those that it only reports. */
export function scenariosOf({ home }, revision, side) {
  const text = readFileSync(join(home, "requirements", `${revision}.yaml`), "utf8");
  const section = (name) => new RegExp(`^${name}:\\n((?:[ #-].*\\n|\\n)*)`, "m").exec(`${text}\n`)?.[1] ?? "";
  const required = [...section(side).matchAll(/^ *- ([\w/.-]+)$/gm)].map(([, name]) => name);
  const reported = [...section("not_scored").matchAll(/- scenario: (\S+)\n +leg: (\w+)$/gm)]
    .filter(([, , leg]) => leg === side)
    .map(([, name]) => name);
  return [
    ...required.map((name) => ({ name, isRequired: true })),
    ...reported.map((name) => ({ name, isRequired: false })),
  ];
}

/** Runs the suite with these arguments; returns its exit code and output. */
export function runSuite({ node, main }, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(node, [main, ...args], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
