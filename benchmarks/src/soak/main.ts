// npm run bench -- soak: many clients, many servers, and churn; then whether anything is left of it.
import { parseArgs } from "node:util";
import { runSoak } from "./run-soak.js";
import { faultsOf, reportOf } from "./soak-report.js";

const { values } = parseArgs({
  options: {
    clients: { type: "string", default: "1000" },
    servers: { type: "string", default: "64" },
    seconds: { type: "string", default: "300" },
    // What an hour brings: a change of the configuration a minute, and a crash every 30 seconds.
    reloads: { type: "string", default: "60" },
    kills: { type: "string", default: "120" },
    think: { type: "string", default: "1000" },
    "session-idle": { type: "string", default: "30000" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
  },
});
if (process.platform !== "linux") throw new Error("The soak counts files and processes as only Linux reports them.");
const numberOf = (name: Exclude<keyof typeof values, "json">): number => {
  const value = Number(values[name]);
  if (!(value >= 0)) throw new TypeError(`--${name} must be a number, not ${JSON.stringify(values[name])}.`);
  return value;
};
const outcome = await runSoak({
  clients: numberOf("clients"),
  servers: numberOf("servers"),
  durationMs: numberOf("seconds") * 1000,
  reloads: numberOf("reloads"),
  kills: numberOf("kills"),
  thinkMs: numberOf("think"),
  sessionIdleMs: numberOf("session-idle"),
  seed: numberOf("seed"),
  report: (text) => console.error(text),
});
const faults = faultsOf(outcome);
if (values.json) console.log(JSON.stringify({ counts: outcome.ledger.counts, faults }));
else for (const line of reportOf(outcome)) console.log(line);
process.exitCode = faults.length === 0 ? 0 : 1;
