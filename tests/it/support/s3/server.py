"""An S3 server that checks signatures, for the tests: moto, which has one user who may do everything.

With the argument `open` it asks nobody for a signature, and what is put there is everybody's to read.

Prints its address and the user's two keys, and then takes commands from stdin, each of which it answers with a line:
`put KEY FILE`; `get KEY FILE`, which says `got` or `none`; `remove KEY`; `keys PREFIX`; and `uploads PREFIX`, the keys that are being uploaded. It ends with its input, so with the process that started it.
"""

import json
import logging
import os
import sys

# AWS settings of this environment are for other servers.
for name in [name for name in os.environ if name.startswith("AWS_")]:
    del os.environ[name]
is_open = sys.argv[1:] == ["open"]
# The three requests that make the user; all that follow need a signature.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "inf" if is_open else "3"

import boto3  # noqa: E402
from moto.moto_server.threaded_moto_server import ThreadedMotoServer  # noqa: E402
from moto.moto_server.werkzeug_app import DomainDispatcherApplication  # noqa: E402

logging.getLogger("werkzeug").setLevel(logging.ERROR)
dispatch = DomainDispatcherApplication.__call__


def without_bearer(self, environ, start_response):
    """Google's clients send tokens, which S3 does not know."""
    if environ.get("HTTP_AUTHORIZATION", "").startswith("Bearer"):
        del environ["HTTP_AUTHORIZATION"]
    return dispatch(self, environ, start_response)


if is_open:
    DomainDispatcherApplication.__call__ = without_bearer
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()


def client(service, key, secret):
    address = f"http://{host}:{port}"
    keys = {"aws_access_key_id": key, "aws_secret_access_key": secret}
    return boto3.client(service, endpoint_url=address, region_name="us-east-1", **keys)


iam = client("iam", "nobody", "nothing")
iam.create_user(UserName="tests")
key = iam.create_access_key(UserName="tests")["AccessKey"]
statement = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}
policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
iam.put_user_policy(UserName="tests", PolicyName="all", PolicyDocument=policy)
s3 = client("s3", key["AccessKeyId"], key["SecretAccessKey"])
s3.create_bucket(Bucket="corpus")
print(f"{host}:{port}", key["AccessKeyId"], key["SecretAccessKey"], flush=True)


def answer(command, name, path=None):
    if command == "put":
        s3.upload_file(path, "corpus", name, ExtraArgs={"ACL": "public-read"} if is_open else {})
        return "put"
    if command == "remove":
        s3.delete_object(Bucket="corpus", Key=name)
        return "removed"
    if command == "uploads":
        uploads = s3.list_multipart_uploads(Bucket="corpus").get("Uploads", [])
        return " ".join(upload["Key"] for upload in uploads if upload["Key"].startswith(name))
    keys = [key["Key"] for key in s3.list_objects_v2(Bucket="corpus", Prefix=name).get("Contents", [])]
    if command == "keys":
        return " ".join(keys)
    if name not in keys:
        return "none"
    s3.download_file("corpus", name, path)
    return "got"


for line in sys.stdin:
    print(answer(*line.split()), flush=True)
