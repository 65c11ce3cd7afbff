import type { SignIn, SignInRequest } from "../sign-in/sign-in.js";

/** As much of a browser as a sign-in needs: it follows redirects, keeps cookies, and submits the form of a page. */
export interface Browser {
  /** Goes to a url, and on to where it is sent. */
  open(url: string): Promise<Page>;
  /** Submits the first form of a page, with what stands in it and what is given. */
  submit(page: Page, fields?: Readonly<Record<string, string>>): Promise<Page>;
}

export interface Page {
  readonly url: string;
  readonly status: number;
  readonly html: string;
}

export function createBrowser(): Browser {
  const cookies = new Map<string, string>();
  const go = async (url: string, form?: URLSearchParams): Promise<Page> => {
    const { origin } = new URL(url);
    const kept = [...cookies]
      .filter(([name]) => name.startsWith(`${origin} `))
      .map(([name, value]) => `${name.slice(origin.length + 1)}=${value}`);
    const answer = await fetch(url, {
      redirect: "manual",
      headers: { cookie: kept.join("; "), accept: "text/html" },
      ...(form === undefined ? {} : { method: "POST", body: form }),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === "") cookies.delete(`${origin} ${name}`);
      else cookies.set(`${origin} ${name}`, value);
    }
    const location = answer.headers.get("location");
    const html = await answer.text();
    return location === null ? { url, status: answer.status, html } : go(new URL(location, url).href);
  };
  return {
    open: (url) => go(url),
    submit(page, fields = {}) {
      const action = /<form[^>]*action="([^"]+)"/.exec(page.html)?.[1] ?? page.url;
      const form = new URLSearchParams();
      for (const [input] of page.html.matchAll(/<input[^>]*>/g)) {
        const name = /name="([^"]+)"/.exec(input)?.[1];
        if (name !== undefined) form.set(name, /value="([^"]*)"/.exec(input)?.[1] ?? "");
      }
      for (const [name, value] of Object.entries(fields)) form.set(name, value);
      return go(new URL(action, page.url).href, form);
    },
  };
}

/** Someone with a browser, who enters the code of a device where there is one. */
export function createBrowsingPerson(): {
  readonly person: SignIn;
  readonly asked: SignInRequest[];
  readonly pages: Page[];
} {
  const asked: SignInRequest[] = [];
  const pages: Page[] = [];
  return {
    asked,
    pages,
    person: {
      async begin(request) {
        asked.push(request);
        const browser = createBrowser();
        const { way } = request;
        if (way.kind === "browser") {
          pages.push(await browser.open(way.url));
          return undefined;
        }
        const entry = await browser.open(way.url);
        const confirmation = await browser.submit(entry, { user_code: way.userCode });
        pages.push(await browser.submit(confirmation, { user_code: way.userCode, confirm: "yes" }));
        return undefined;
      },
    },
  };
}
