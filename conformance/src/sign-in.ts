import type { Ask } from "@wirescope/tool-server/auth";

/** A person who signs in and agrees to everything, as quickly as a program: the suite's servers ask nothing. */
export const obligingPerson: Ask = {
  async show({ way }) {
    if (way.kind !== "browser") throw new Error("The suite has no devices.");
    let url = way.url;
    for (let hops = 0; hops < 5; hops += 1) {
      const response = await fetch(url, { redirect: "manual" });
      const next = response.headers.get("location");
      if (next === null) throw new Error(`The authorization endpoint returned ${response.status}.`);
      url = new URL(next, url).href;
      if (url.startsWith(way.redirectUri)) return url;
    }
    throw new Error("The authorization endpoint leads nowhere.");
  },
  confirm: async ({ kind }) => kind === "issuer",
};
