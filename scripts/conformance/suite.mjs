// The official suite: its location, the Node that runs it, and the scenarios of each revision of the protocol.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { installTools, root } from "../setup.mjs";

const suiteVersion = "0.2.0-alpha.12";
const nodeVersion = "22.23.3";
const folder = join(root, "conformance", ".suite");

/** Installs the suite in conformance/.suite, once; returns its location and the Node that runs it. */
export async function installSuite() {
  const isNewEnough = Number(process.versions.node.split(".", 1)) >= 22;
  const nodePackage = `node-${process.platform === "win32" ? "win" : process.platform}-${process.arch}`;
  const suite = { "@modelcontextprotocol/conformance": suiteVersion };
  await installTools(folder, isNewEnough ? suite : { ...suite, [nodePackage]: nodeVersion });
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
