import { runDemo } from "../demo/demo.js";
import type { Command } from "./command.js";

/** Runs the demonstration; its options are its own. */
export const demoCommand: Command = {
  name: "demo",
  summary: "run a process with traffic to look at, as npm start does",
  parameters: [],
  options: {
    port: {
      type: "string",
      placeholder: "number",
      help: "port of the Channelz service; 0 takes a free one; default 4690",
    },
    json: { type: "boolean", help: "print one line of JSON on standard output once all is ready" },
    help: { type: "boolean", help: "show this help" },
  },
  run: (args) => runDemo(args, "wirescope demo"),
};
