// npm run conformance: runs the official MCP suite on our client and our gateway, in every revision that it supports.
//
//   npm run conformance -- --side server         only our gateway, or with `client` only our client
//   npm run conformance -- --side server --behind http://127.0.0.1:3000/mcp    with this server behind it instead of ours
//   npm run conformance -- --only tools_call     only scenarios whose names begin like this
//   npm run conformance -- --revision 2026-07-28
//   npm run conformance -- --times 10            ten runs in a row, with a line for each
//   npm run conformance -- --verbose             with all output of the suite
//
// The suite needs Node 22. On an older Node, the suite runs on a newer one that is installed for it; our code runs on this one.

import { parseArgs } from "node:util";
import { runClientSide } from "./conformance/client-side.mjs";
import { runServerSide } from "./conformance/server-side.mjs";
import { installSuite } from "./conformance/suite.mjs";
import { SetupError } from "./setup.mjs";

const sides = { client: runClientSide, server: runServerSide };

/** Runs the suite; returns the exit code. */
export async function main(args) {
  const { values } = parseArgs({
    args,
    options: {
      side: { type: "string", default: "all" },
      only: { type: "string", default: "" },
      behind: { type: "string" },
      revision: { type: "string" },
      times: { type: "string", default: "1" },
      verbose: { type: "boolean", default: false },
    },
  });
  const { side, only, behind, revision: wanted, verbose } = values;
  const times = Number(values.times);
  if (!Number.isInteger(times) || times < 1)
    throw new SetupError(`--times must be a positive integer, not "${values.times}".`);
  const chosen = Object.entries(sides).filter(([name]) => side === "all" || side === name);
  if (chosen.length === 0) throw new SetupError(`--side must be client, server or all, not "${side}".`);
  const suite = await installSuite();
  const revisions = suite.revisions.filter((revision) => wanted === undefined || revision === wanted);
  if (revisions.length === 0)
    throw new SetupError(`--revision must be one of ${suite.revisions.join(", ")}, not "${wanted}".`);

  // Of many runs, only failures are printed.
  const say = (text, isFailure = false) => {
    if (times === 1 || isFailure) console.log(text);
  };
  let goodRuns = 0;
  for (let time = 1; time <= times; time += 1) {
    const startedAt = performance.now();
    const tallies = [];
    for (const revision of revisions) {
      for (const [, run] of chosen) tallies.push(await run(suite, revision, { only, behind, verbose, say }));
    }
    const sum = (key) => tallies.reduce((total, tally) => total + tally[key], 0);
    const isGood = tallies.every((tally) => tally.isGood) && sum("passed") > 0;
    if (isGood) goodRuns += 1;
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    const which = times === 1 ? "\n" : `run ${time}: `;
    const known = sum("known") === 0 ? "" : `, ${sum("known")} known to fail`;
    console.log(`${which}${sum("passed")} passed${known}, ${sum("failed")} failed, ${seconds} s`);
  }
  if (times > 1) console.log(`${goodRuns} of ${times} runs passed.`);
  return goodRuns === times ? 0 : 1;
}
