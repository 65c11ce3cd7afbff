import { exitCode } from "../failure.js";
import type { Io } from "../io.js";
import { formatJson } from "../output/json.js";
import { createScreen } from "../output/screen.js";
import { type AdminAtHand, failureFrom } from "./ask-gateway.js";

/** Turns the debug mode of the gateway on or off, and prints where to look. */
export async function setDebugThrough(
  { client, url, close }: AdminAtHand,
  isOn: boolean,
  values: { readonly json: boolean; readonly "no-color": boolean },
  io: Io,
): Promise<number> {
  const screen = createScreen(io, values["no-color"]);
  try {
    const { wasEnabled } = await client.setDebug({ enabled: isOn });
    const where =
      "Its log, on its standard error, shows headers without their values, each step of OAuth and refreshes.";
    if (values.json) screen.print(formatJson({ gateway: url, debug: isOn, before: wasEnabled }));
    else screen.print(`Debug mode of the gateway at ${url} is ${isOn ? `on. ${where}` : "off."}`);
    return exitCode.ok;
  } catch (error) {
    throw failureFrom(error, url);
  } finally {
    close();
  }
}
