import type { ChannelzError } from "@wirescope/channelz";
import type { Origin } from "@wirescope/channelz/timeline";

/** The name of a target and why it does not respond. Most reasons begin with the address, which is then not repeated. */
export function silentTarget({ name, target, error = "It does not respond.", errorSubject }: Origin): string {
  const label = name || target;
  return label === "" || (label === target && errorSubject === target) ? error : `${label}: ${error}`;
}

/** Why a target does not respond, for a line that shows its name already. */
export function reasonWithout(name: string, { subject, problem, advice, message }: ChannelzError): string {
  return name === "" || subject !== name ? message : [problem, advice].filter((part) => part !== "").join(" ");
}
