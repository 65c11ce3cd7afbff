// A stdio tool server: node clock-server.js

import { createInterface } from "node:readline";
import { type DemoTool, handleRequest } from "./tool-set.js";

const tools: readonly DemoTool[] = [
  { name: "now", description: "Returns the time", parameters: [], call: () => new Date().toISOString() },
  {
    name: "until",
    description: "Returns the number of days until a date, such as 2030-01-01",
    parameters: ["date"],
    call: ({ date }) => `${Math.round((Date.parse(String(date)) - Date.now()) / 86_400_000)} days`,
  },
];

for await (const line of createInterface({ input: process.stdin })) {
  const response = await handleRequest("clock", tools, JSON.parse(line));
  if (response !== undefined) process.stdout.write(`${JSON.stringify(response)}\n`);
}
