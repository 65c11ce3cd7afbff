// Runs our client against the servers of the suite.

import { join } from "node:path";
import { root } from "../setup.mjs";
import { runSuite, scenariosOf } from "./suite.mjs";

const client = join(root, "conformance", "dist", "client.js");

/** Runs the client scenarios of a revision; returns how many passed and failed, and whether all required ones passed. */
export async function runClientSide(suite, revision, { only, verbose, say }) {
  const list = scenariosOf(suite, revision, "client").filter(({ name }) => name.startsWith(only));
  say(`\n${revision}, our client: ${list.length} scenarios`);
  const ours = `${JSON.stringify(process.execPath)} ${JSON.stringify(client)}`;
  const tally = { passed: 0, known: 0, failed: 0, isGood: true };
  for (const { name, isRequired } of list) {
    const args = ["client", "--command", ours, "--scenario", name, "--spec-version", revision];
    const { code, output } = await runSuite(suite, args);
    const isPassed = code === 0;
    const mark = isPassed ? "passed" : isRequired ? "FAILED" : "failed, not required";
    say(`  ${name.padEnd(46)} ${mark}`, !isPassed);
    if (verbose || (!isPassed && isRequired)) say(output.replace(/^/gm, "    "), true);
    tally[isPassed ? "passed" : "failed"] += 1;
    tally.isGood &&= isPassed || !isRequired;
  }
  return tally;
}
