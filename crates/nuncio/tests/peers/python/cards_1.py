"""The official Python SDK 1.x reads and writes signatures of cards.

Arguments: the address of a card, a file with the keys to trust, a card to sign, and the private keys
to sign it with, each in a file. Prints what became of it as one JSON object.
"""

import asyncio
import json
import sys
import traceback
from pathlib import Path

import httpx

from a2a.client import A2ACardResolver
from a2a.types import a2a_pb2 as a2a
from a2a.utils.signing import create_agent_card_signer, create_signature_verifier
from google.protobuf import json_format
from jwt.api_jwk import PyJWK


def verifier(keys):
    known = {key['kid']: PyJWK(key) for key in keys}

    def find(kid, _jku):
        return known[kid]

    return create_signature_verifier(find, ['ES256', 'EdDSA'])


async def verify(url, keys):
    """Each key alone must do, and the card must reach the reader whole."""
    names = []
    async with httpx.AsyncClient() as http:
        for key in keys:
            card = await A2ACardResolver(http, url).get_agent_card()
            for signature in list(card.signatures):
                if key['kid'] not in kid_of(signature):
                    card.signatures.remove(signature)
            verifier([key])(card)
            names.append(card.name)
    return names


def kid_of(signature):
    from jwt.utils import base64url_decode

    return json.loads(base64url_decode(signature.protected))['kid']


async def sign(file, keys):
    card = json_format.ParseDict(json.loads(Path(file).read_text()), a2a.AgentCard())
    for key in keys:
        header = {'kid': key['kid'], 'alg': key['alg'], 'typ': 'JOSE', 'jku': 'https://keys.invalid/'}
        card = create_agent_card_signer(PyJWK(key), header)(card)
    return json_format.MessageToDict(card)


async def main(url, trusted, file, *private):
    trusted = json.loads(Path(trusted).read_text())['keys']
    private = [json.loads(Path(key).read_text()) for key in private]
    steps = {}
    for name, step in {'verify': verify(url, trusted), 'sign': sign(file, private)}.items():
        try:
            steps[name] = {'gave': await step}
        except Exception as error:  # noqa: BLE001
            steps[name] = {'raised': repr(error), 'trace': traceback.format_exc()}
    print(json.dumps({'steps': steps, 'complaints': []}))


asyncio.run(main(*sys.argv[1:]))
