// Asking the service, with the key that was typed in: it is kept in this variable and nowhere else.

let key = "";

export const needsKey = () => document.body.dataset.keys === "wanted";
export const hasKey = () => key !== "";
export const mayAsk = () => !needsKey() || hasKey();

export function useKey(typed) {
  key = typed;
}

export class Refused extends Error {}

export async function ask(path, { body, parameters = {} } = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "");
  const address = given.length ? `${path}?${new URLSearchParams(given)}` : path;
  // What cannot stand in a header is no key; the browser would throw for it.
  if (!/^[!-~]*$/.test(key)) throw new Refused("This key is not known.");
  const headers = { ...(key && { Authorization: `Bearer ${key}` }), ...(body && { "Content-Type": "application/json" }) };
  const options = { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body), cache: "no-store" };
  const response = await answered(address, options);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(sentence(answer.detail ?? `the service answers with status ${response.status}`));
  return answer;
}

async function answered(address, options) {
  try {
    return await fetch(address, options);
  } catch {
    throw new Refused("The service does not answer.");
  }
}

const sentence = (text) => `${text[0].toUpperCase()}${text.slice(1)}.`;
