// Runs the suite against our gateway, with a server behind it that supports everything in the suite; then against that server directly.

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { root, SetupError } from "../setup.mjs";
import { runSuite, scenariosOf } from "./suite.mjs";

const folder = join(root, "conformance");

/** The targets of the suite: the server itself, our gateway in front of it, and our gateway in front of a legacy-only server. */
const titles = { direct: "direct", through: "through", older: "to the older era", behind: "through" };

/**
 * Runs the server scenarios of a revision. The run is not good if a scenario fails unexpectedly, or if a known failure passes; both
 * are reported. With another server, at the url `behind`, failures without the gateway are also expected through it.
 */
export async function runServerSide(suite, revision, { only, behind, verbose, say }) {
  const list = scenariosOf(suite, revision, "server").filter(({ name }) => name.startsWith(only));
  const outcomes = await withTargets(behind, revision, async (urls) => {
    const results = {};
    for (const [column, url] of Object.entries(urls)) results[column] = await runScenarios(suite, revision, url);
    return results;
  });
  const columns = Object.keys(outcomes);
  say(`\n${revision}, our gateway: ${list.length} scenarios, in checks that passed`);
  say(`  ${"".padEnd(46)} ${columns.map((column) => titles[column].padEnd(16)).join("")}`.trimEnd());
  const known = [...knownFailures(revision), ...(behind === undefined ? [] : failuresOf(outcomes.direct))];
  const reasons = new Set();
  const complaints = [];
  const tally = { passed: 0, known: 0, failed: 0, isGood: true };
  for (const { name } of list) {
    const cells = columns.map((column) => {
      const { passed, failures } = outcomes[column].get(name) ?? notRun;
      const expected = known.filter((one) => one.scenario === name && one.columns.includes(column));
      const isExpected = ({ id }) => expected.some(({ checks }) => checks === undefined || checks.includes(id));
      const where = `${name} (${titles[column]})`;
      const unexpected = failures.filter((failure) => !isExpected(failure));
      for (const { id, message } of unexpected) complaints.push(`${where} fails: ${id}: ${message}`);
      const isStale = behind === undefined && expected.length > 0 && !failures.some(isExpected);
      if (isStale)
        complaints.push(`${where} is a known failure, but passes. Remove it from conformance/known-failures.json.`);
      if (isStale || unexpected.length > 0) tally.isGood = false;
      for (const { reason, checks } of expected) {
        if (failures.some(({ id }) => checks === undefined || checks.includes(id))) reasons.add(reason);
      }
      const outcome = unexpected.length > 0 ? "failed" : failures.length > 0 ? "known" : "passed";
      tally[outcome] += 1;
      if (outcome === "passed") return String(passed);
      return `${passed} of ${passed + failures.length} ${outcome === "known" ? "(known)" : "FAILED"}`;
    });
    const hasFailure = cells.some((cell) => cell.includes("FAILED"));
    say(`  ${name.padEnd(46)} ${cells.map((cell) => cell.padEnd(16)).join("")}`.trimEnd(), hasFailure);
  }
  for (const reason of reasons) say(`  Known: ${reason}`);
  for (const complaint of complaints) say(`  ${complaint}`, true);
  if (verbose) for (const [column, { output }] of Object.entries(outcomes)) say(`${titles[column]}:\n${output}`);
  return tally;
}

const notRun = { passed: 0, failures: [{ id: "none", message: "The suite did not run it." }] };

/** Runs all scenarios of a revision against a url; returns the passed and failed checks by scenario. */
async function runScenarios(suite, revision, url) {
  const saved = mkdtempSync(join(tmpdir(), "wirescope-conformance-"));
  try {
    const { output } = await runSuite(suite, ["server", "--url", url, "--requirements", revision, "-o", saved]);
    const results = new Map();
    for (const entry of readdirSync(saved)) {
      const name = /^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(entry)?.[1];
      if (name === undefined) continue;
      const checks = JSON.parse(readFileSync(join(saved, entry, "checks.json"), "utf8"));
      results.set(name, {
        passed: checks.filter(({ status }) => status === "SUCCESS").length,
        failures: checks
          .filter(({ status }) => status === "FAILURE")
          .map(({ id, errorMessage }) => ({ id, message: errorMessage })),
      });
    }
    return Object.assign(results, { output });
  } finally {
    rmSync(saved, { recursive: true, force: true });
  }
}

/** The known failures of a revision, by scenario. */
function knownFailures(revision) {
  const list = JSON.parse(readFileSync(join(folder, "known-failures.json"), "utf8"));
  return list
    .filter(({ revisions }) => revisions.includes(revision))
    .flatMap(({ scenarios, ...rest }) => scenarios.map((scenario) => ({ ...rest, scenario })));
}

/** The failures without the gateway, as known failures with it. */
function failuresOf(results) {
  return [...results].map(([scenario, { failures }]) => ({
    reason: "It also fails without the gateway.",
    scenario,
    columns: ["direct", "behind"],
    checks: failures.map(({ id }) => id),
  }));
}

/** Starts the servers and the gateways in front of them, and stops them when `work` is done. */
async function withTargets(behind, revision, work) {
  const started = [];
  const start = (...args) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    started.push(child);
    return firstLine(child, args[0]);
  };
  const [server, gateway] = ["everything-server", "gateway"].map((name) => join(folder, "dist", `${name}.js`));
  try {
    if (behind !== undefined) {
      // A server of both eras may ask its client only in the older one, so the gateway uses the era of the suite.
      const era = revision < "2026" ? "legacy" : "auto";
      return await work({ direct: behind, behind: await start(gateway, behind, era) });
    }
    const [direct, legacy] = await Promise.all([start(server), start(server, "legacy")]);
    const [through, older] = await Promise.all([start(gateway, direct), start(gateway, legacy)]);
    return await work({ direct, through, older });
  } finally {
    // Gateways first, then the servers behind them.
    for (const child of started.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill();
      await new Promise((resolve) => child.once("close", resolve));
    }
  }
}

function firstLine(child, name) {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout }).once("line", resolve);
    child.once("error", reject);
    child.once("close", (code) => reject(new SetupError(`${name} ended with code ${code} before it was ready.`)));
  });
}
